/** uuid makes a random one, also where the page did not come by https. */
export function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

const pattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const isUUID = (text: string): boolean => pattern.test(text);

const characters = new Intl.Segmenter();

/** shortened cuts a text that has more characters than these, and none of them in two. */
export function shortened(text: string, most: number): string {
  let cut = '';
  let count = 0;
  for (const { segment, index } of characters.segment(text)) {
    if (++count < most) cut += segment;
    else if (index + segment.length < text.length) return `${cut}…`;
    else break;
  }
  return text;
}

/** The most characters of a column's name that are shown. */
export const longestName = 40;

export const shortName = (name: string): string => shortened(name, longestName);

/** listWords names the first of some things, and says how many more there are. */
export function listWords(names: string[]): string {
  const more = names.length > 4 ? [`${names.length - 3} more`] : [];
  return new Intl.ListFormat('en').format([...names.slice(0, more.length ? 3 : 4), ...more]);
}

/** datasetName makes a name of a file's. */
export const datasetName = (filename: string): string => cleanName(filename.replace(/\.(gz|gzip|zip)$/i, '').replace(/\.[^.]+$/, ''));

/** tableName makes the name of the dataset for one table of several in a file. The table's name stays whole. The text of a document has the name of the file. */
export function tableName(name: string, table: string): string {
  if (table === 'text') return name;
  const end = `_${cleanName(table)}`;
  return name.slice(0, 128 - end.length) + end;
}

/** distinct makes names differ, also without regard to case: later ones get a number. */
export function distinct(names: string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let n = 2; taken.has(unique.toLowerCase()); n++) unique = `${name.slice(0, 120)}_${n}`;
    taken.add(unique.toLowerCase());
    return unique;
  });
}

/** cleanName makes a name of a text, as CleanName of the server does. */
function cleanName(text: string): string {
  const plain = text.normalize('NFKD').replace(/\p{M}+/gu, '');
  const name = plain.replace(/[^A-Za-z0-9_.-]+/g, '_').replace(/^[-._]+|[-._]+$/g, '').slice(0, 100);
  const foreign = Array.from(plain).some((c) => c > '\x7f' && /[\p{L}\p{N}]/u.test(c) && !/\p{Script=Latin}/u.test(c));
  if ((name && !foreign) || !text) return name || 'data';
  return `${name.slice(0, 91) || 'data'}_${hash(text)}`;
}

/** hash is FNV-1a of a text, with 32 bits. */
function hash(text: string): string {
  let sum = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text.normalize('NFC'))) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
  return sum.toString(16).padStart(8, '0');
}
