// Cells that were copied from a spreadsheet.

/** cellsFile makes a file of cells: tabs are between them where they come from a spreadsheet. */
export const cellsFile = (text: string): File => new File([text], text.includes('\t') ? 'pasted.tsv' : 'pasted.csv');

/** pasted gives the cells that an event brings, as a file, and keeps them from going anywhere else. */
export function pasted(event: ClipboardEvent): File | undefined {
  const text = event.clipboardData?.getData('text/plain') ?? '';
  if (!/[\t\n]/.test(text.trim())) return undefined;
  event.preventDefault();
  return cellsFile(text);
}
