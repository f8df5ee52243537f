"""tinyburn in a browser: a check under Node that needs none, and the course as a site that runs in one.

Not a part of the package. Nothing here runs unless somebody asks for it: ``python -m browser.check``, ``python -m
browser.lite``. docs/browser.md says what each is for.
"""
