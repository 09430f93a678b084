// Package pgtest gives tests a real PostgreSQL.
//
// The first test of a process that asks starts a private cluster from the
// installed server binaries; the other tests of the process share it, each with
// a database of its own. No TestMain is needed: the cluster ends with the
// process, however that ends. As nothing in it is worth keeping, it runs without
// fsync, so it is no place to measure durable writes, except with
// PARLEY_BENCH=full: then it is as PostgreSQL comes.
//
// With PARLEY_TEST_DATABASE_URL set, the databases are made on that server
// instead, by a role that may create databases. PostgreSQL 13 or newer is needed.
//
// Schemas and migrations are left to the packages under test.
package pgtest
