"""Publish: admitted environments become a release."""
