package dialog_test

import (
	"errors"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/reader/dialog"
	"parley/llm/reader/link"
)

var sentences = map[string][]string{
	"de": {
		"Wie viele Bestellungen gibt es?",
		"Wie hoch ist der durchschnittliche Betrag pro Land?",
		"Welche Kunden kommen aus Berlin?",
		"Zeige alle Produkte mit einem Preis über 100",
		"Was ist der Gesamtumsatz im Jahr 2024?",
		"Wer hat die meisten Bestellungen aufgegeben?",
		"Wann wurde die letzte Rechnung bezahlt?",
		"Nenne die fünf teuersten Produkte",
		"wie viele kunden haben den newsletter abonniert",
		"Gib mir die Summe der Beträge nach Monat",
		"Welches Produkt wurde am häufigsten verkauft?",
		"Wieviel Umsatz gab es im März?",
		"Umsatz pro Monat und Kanal nach Jahr, mit den Kosten",
		"Wo wohnen die Kunden, die nicht bezahlt haben?",
		"Gibt es Kunden ohne Bestellung?",
		"Anzahl Bestellungen pro Monat",
		"Was kostet das teuerste Produkt?",
		"Wie viele Filme wie „The Lord of the Rings“ gibt es?",
	},
	"fr": {
		"Combien de commandes y a-t-il ?",
		"Quel est le montant moyen par pays ?",
		"Quels clients habitent à Paris ?",
		"Montre tous les produits avec un prix supérieur à 100",
		"Quelle est la somme des ventes en 2024 ?",
		"Qui a passé le plus de commandes ?",
		"Quand la dernière facture a-t-elle été payée ?",
		"Donne les cinq produits les plus chers",
		"combien de clients sont abonnés à la newsletter",
		"Affiche le total des montants par mois",
		"Quel produit est le plus vendu dans le magasin ?",
		"Liste des clients qui n'ont pas payé",
		"Le nombre de ventes par mois et par canal",
		"Où habitent les clients de la région ?",
		"Nombre de commandes par mois",
		"Salaire moyen par département",
		"Combien d'étudiants ont lu « Of Mice and Men » ?",
	},
	"es": {
		"¿Cuántos pedidos hay?",
		"¿Cuál es el importe medio por país?",
		"¿Qué clientes viven en Madrid y en Sevilla?",
		"Muestra todos los productos con un precio mayor que 100",
		"¿Cuál fue la suma de las ventas en 2024?",
		"¿Quién ha hecho más pedidos?",
		"¿Cuándo se pagó la última factura?",
		"Dame los cinco productos más caros",
		"cuantos clientes hay en la tienda",
		"Muéstrame el total de importes por mes",
		"¿Cuál es el producto más vendido de la tienda?",
		"Lista de los clientes que no han pagado",
		"El total de ventas por ciudad en 2024",
		"¿Dónde viven los clientes?",
		"Número de pedidos por mes",
		"Hay clientes sin pedidos?",
		"Salario medio por departamento",
		"¿Cuántos alumnos leyeron \"The Old Man and the Sea\" en 2024?",
	},
	"it": {
		"Quanti ordini ci sono?",
		"Qual è l'importo medio per paese degli ordini nel 2024?",
		"Quali clienti vivono nella regione?",
		"Mostra tutti i prodotti con un prezzo maggiore di 100",
		"Quale è stata la somma delle vendite nel 2024?",
		"Chi ha fatto più ordini?",
		"Quando è stata pagata l'ultima fattura?",
		"Dammi i cinque prodotti più cari",
		"quanti clienti sono iscritti alla newsletter",
		"Mostrami il totale degli importi per mese",
		"Quale prodotto è il più venduto del negozio?",
		"Elenca i clienti che non hanno pagato",
		"Il totale delle vendite per città nel 2024",
		"Dove vivono i clienti della regione?",
		"Numero di ordini per mese",
		"Stipendio medio per reparto",
		"vendite per trimestre dell'anno scorso",
		"Quanti studenti hanno letto \"The Catcher in the Rye\"?",
	},
	"": {
		"How many times was Die Hard rented?",
		"Die Hard rentals in 2024",
		"How many people die in Die Hard?",
		"Which customers live in El Paso?",
		"El Paso orders by month",
		"Who acted in Amor de Dios?",
		"Who directed La Dolce Vita?",
		"List orders from Los Angeles and Las Vegas",
		"What is the rating of Das Boot?",
		"Show the sales of La Casa de Papel",
		"la la land revenue",
		"How many copies of Le Monde were sold?",
		"Which articles appeared in Der Spiegel and Die Zeit?",
		"Average price of wines from Rioja and Côtes du Rhône",
		"Who painted Les Demoiselles d'Avignon?",
		"How many employees work in Rio de Janeiro?",
		"List flights from San Juan to São Paulo",
		"Which albums did Los Lobos release?",
		"How many students study at the Université de Montréal?",
		"total sales in Baden and Aus der Au",
		"Number of visitors of the Museo del Prado per year",
		"Who won the Tour de France in 2019?",
		"How many goals did Real Madrid score against Bayern München?",
		"Show me the price of crème brûlée",
		"Is Quanto a customer?",
		"Which films have Como in the title?",
		"Who is Ludwig van Beethoven?",
		"orders of Dr. von der Leyen",
		"Which restaurants in Des Moines are open?",
		"How many of the tracks are called \"Wie viele sind es\"?",
		"Which songs contain the words 'la vida es un carnaval'?",
		"top 5 cities by population",
		"orders per channel in 2025",
		"average amount per country",
		"How many orders were there in total?",
		"count customers where city is La Paz",
		"sum of amount for the state of Maine",
		"Hello",
		"who sang la vie en rose",
		"price of pain au chocolat",
		"orders from san jose and las vegas",
		"bach das wohltemperierte klavier recordings",
		"chi square of a and b",
		"e commerce sales by region",
		"Name all la liga teams",
		"die cast models in stock",
		"hay prices by year",
		"Do we have a list of e-mail addresses per customer?",
		"What was the total in May?",
		"",
	},
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for code, all := range sentences {
		for _, sentence := range all {
			if got := dialog.Language(link.Tokenize(sentence)); got != code {
				t.Errorf("%s: %q, want %q", sentence, got, code)
			}
		}
	}
}

func TestOtherLanguage(t *testing.T) {
	t.Parallel()
	for code, word := range map[string]string{"de": "Englisch", "fr": "anglais", "es": "inglés", "it": "inglese", "": "English"} {
		err := dialog.OtherLanguage(code)
		var refused *llm.UnanswerableError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "--llm") {
			t.Errorf("%s: %v", code, err)
		}
	}
}
