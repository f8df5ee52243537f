"""What every floor needs to say: errors, number formats, shapes, distributions, the running module, plain text.

Nothing here knows a tensor or a backend. A file belongs here if files of both `backend` and `tensor` ask for it.
"""
