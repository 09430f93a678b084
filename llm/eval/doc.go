// Package eval measures how well questions over tables are answered: it loads a
// suite of questions with their answers, compares results with them, and counts.
// Who answers is behind [Asker]; how a suite's tables get to it is its own
// business.
package eval
