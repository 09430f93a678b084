// Package sample makes the data of `parley demo`: a shop over two years, the
// texts that the shop gives its customers, and a vegetable garden. All of it is
// made up, and is the same each time. How it gets into a server is left to
// others.
package sample

// The users of the sample.
const (
	Alice = "alice" // has the shop
	Bob   = "bob"   // has the garden, and may look into the shop
)

// Space is a namespace of the sample.
type Space struct {
	Owner, Name string
	Datasets    []Dataset
	// Viewers are the users with whom it is shared.
	Viewers []string
}

// Dataset has rows, or files that become passages.
type Dataset struct {
	Name, Description string
	// Fields say what is in each column. Texts have none: with them a language
	// model would be asked for rows.
	Fields map[string]string
	Rows   []any
	Files  []File
}

// File is a text in Markdown.
type File struct {
	Name string
	Text []byte
}

// Spaces gives the whole sample.
func Spaces() []Space {
	return []Space{
		{Owner: Alice, Name: "shop", Viewers: []string{Bob}, Datasets: []Dataset{
			customersDataset(), productsDataset(), ordersDataset(), documentsDataset(),
		}},
		{Owner: Bob, Name: "garden", Datasets: []Dataset{bedsDataset(), harvestsDataset()}},
	}
}

// rowsOf makes rows of things that are written as JSON objects.
func rowsOf[T any](things []T) []any {
	rows := make([]any, len(things))
	for i, thing := range things {
		rows[i] = thing
	}
	return rows
}
