"""Commands of the group ``campaign``, for requesters."""
