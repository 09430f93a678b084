// Package s3test gives tests a real S3 server.
//
// The server is versitygw, keeping its buckets in a temporary folder. It is built
// from the Go module proxy when it is first needed, outside this module, and kept
// in the user's cache folder for the next time. Set PARLEY_TEST_VERSITYGW to the
// path of a versitygw program to use that one instead.
//
// One server runs for each test process that asks for one, on a free port of the
// loopback interface, and ends with that process, however that ends.
//
// S3 clients are left to the packages under test.
package s3test
