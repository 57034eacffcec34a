"""Alembic's entry point: run the migrations in the given transaction."""

from alembic import context

from quietcrowd.campaign.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
