"""JavaScript and TypeScript as a stack: manifests read as data, dependencies fetched by the repository's own manager."""
