// Which model answers.
import { computed, signal } from '@preact/signals';
import type { Model } from './api';

const key = 'parley.model';

/** The models that are set, the default first; undefined until they are read. */
export const models = signal<Model[] | undefined>(undefined);

const chosen = signal(localStorage.getItem(key) ?? '');

/** model is the one that answers the next question: the chosen one, where it is still set. */
export const model = computed(() => models.value?.find((each) => each.name === chosen.value) ?? models.value?.[0]);

/** modelToAsk names the model of the next question; '' for the default. */
export const modelToAsk = (): string => (model.value && model.value !== models.value?.[0] ? model.value.name : '');

/** builtInOnly is true where no language model is set. */
export const builtInOnly = computed(() => models.value?.every((each) => each.builtIn) ?? false);

export function chooseModel(name: string): void {
  chosen.value = name;
  localStorage.setItem(key, name);
}
