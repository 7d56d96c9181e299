"""Images and containers of Python candidates: dependency layer, project install, test runs. Shared by several phases."""
