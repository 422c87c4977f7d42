"""The tests of this folder run on both kinds of database."""

from registry_databases import databases_of_one_test, kind_of_database, postgres_server

__all__ = ["databases_of_one_test", "kind_of_database", "postgres_server"]
