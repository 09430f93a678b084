// All rows of a dataset as a file.
import { rowsOf, type Dataset } from '../api';
import { csvLines } from '../csv';

/** The most rows of a download: it is put together in memory. */
export const mostRows = 200_000;

/** allAsCSV reads the rows of a dataset, page by page, as CSV. now is called with how many there are so far. */
export async function allAsCSV(d: Dataset, names: string[], signal: AbortSignal, now: (rows: number) => void): Promise<string> {
  const parts = [csvLines(names, [])];
  for (let offset = 0; offset < mostRows; ) {
    const { data } = await rowsOf(d, { limit: 1000, offset }, signal);
    if (data.length === 0) break;
    parts.push(csvLines(names, data, false));
    offset += data.length;
    now(offset);
  }
  return parts.join('');
}
