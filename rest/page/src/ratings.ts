// Which runs were rated in this browser: the interface takes ratings and does not tell them.
// They are forgotten when one signs out.
import { signal } from '@preact/signals';

export interface Rating {
  thumbsUp: boolean;
  comment: string;
}

const key = 'parley.ratings';
const most = 500;

function read(): Map<string, Rating> {
  try {
    return new Map(JSON.parse(localStorage.getItem(key) ?? '[]'));
  } catch {
    return new Map();
  }
}

const ratings = signal(read());

export const ratingOf = (run: string): Rating | undefined => ratings.value.get(run);

export function remember(run: string, rating: Rating): void {
  const kept = new Map(ratings.value);
  kept.delete(run);
  kept.set(run, rating);
  while (kept.size > most) kept.delete(kept.keys().next().value!);
  ratings.value = kept;
  localStorage.setItem(key, JSON.stringify([...kept]));
}

export function forgetRatings(): void {
  localStorage.removeItem(key);
  ratings.value = new Map();
}
