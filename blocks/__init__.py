"""What the pipeline talks to, and what it stores."""
