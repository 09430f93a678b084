// Package domain has the types that every part of Parley shares, such as dataset, grant,
// conversation, run and token, their rules, the kinds of errors, and the small interfaces
// through which they are stored.
//
// It does not use HTTP, A2A or SQL. The packages of storage store the data: sqlstore the
// records, objects the files, datasets the rows.
package domain
