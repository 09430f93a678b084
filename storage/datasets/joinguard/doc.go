// Package joinguard finds aggregates that a join makes wrong, from a statement's tree and
// from the data, and corrects them. It also counts the rows that inner joins leave out.
//
// A join repeats a row when several rows match it: the sum of the totals of orders that are
// joined with their items counts an order once for each item. The guard covers each SELECT of
// a statement, also in FROM, WITH and UNION, that
//
//   - joins datasets, names from WITH and subqueries, whose columns are known, with INNER,
//     LEFT, RIGHT or FULL JOIN, with ON, USING, NATURAL or a condition in WHERE;
//   - has no grouping sets and no samples.
//
// SEMI and ANTI JOIN repeat nothing. The aggregates are sum, avg, count, median and those of
// deviation and variance, without DISTINCT, with or without FILTER. Others (min, max,
// count(DISTINCT …), lists) run as they are, and so do window functions, aggregates in
// subqueries of expressions, those over expressions with a subquery or a lambda, and every
// SELECT that joins a recursion, a function, VALUES or a lateral subquery, or anything by
// position or ASOF. A statement whose facts cannot be measured runs as it is. The rows that
// an outer join adds count in count(*).
//
// An aggregate belongs to the datasets whose columns it names. Where the joins repeat their
// rows within a group, it is
//
//   - rewritten, so that each row counts once in each group, when the repeating dataset is
//     joined after them: by a semijoin where that dataset serves as a filter alone, else by
//     an aggregate over distinct rows;
//   - refused, when they are looked up for the rows of a dataset that stands before them,
//     and for a sum of which each group has one row: the statement may mean either;
//   - left alone, when it is a count or an average and each group has one of their rows.
//
// An aggregate that names no column, such as count(*), counts the rows of the join. It is
// refused when these are combinations of rows of several datasets that have nothing to do
// with each other.
package joinguard
