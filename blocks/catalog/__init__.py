"""The catalog: an index over the committed objects, for SQL. The objects are the truth; it can always be rebuilt.

`index.py` is the one writer, `load.py` reads objects for it, `tables.py` and `views.py` lay out the DuckDB file,
`snapshot.py` hands it to readers, `query.py` and `httpfs.py` are how they read, `compare.py` tells two apart.
"""

from blocks.catalog.compare import Difference, compare
from blocks.catalog.index import IndexReport, index, index_path, rebuild
from blocks.catalog.query import Column, CommittedKey, QueryResult, committed_keys, open_catalog, query

__all__ = [
    "Column",
    "CommittedKey",
    "Difference",
    "IndexReport",
    "QueryResult",
    "committed_keys",
    "compare",
    "index",
    "index_path",
    "open_catalog",
    "query",
    "rebuild",
]
