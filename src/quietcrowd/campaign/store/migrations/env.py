"""What Alembic runs: the migrations, in the transaction that it was given."""

from alembic import context

from quietcrowd.campaign.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
