// What the token of the page may do. One that its user has restricted may do less than the user.
import { computed, signal } from '@preact/signals';
import type { Permissions } from './api';
import { user } from './session';

/** What the token covers; undefined until it is read. */
export const rights = signal<Permissions | undefined>(undefined);

/** The rights of a token that may do all that its user may. */
export const allRights: Permissions = { restricted: false, access: 'write', permissions: [] };

/** The rights of a token that is known to be restricted, and no more. */
export const leastRights: Permissions = { restricted: true, access: 'read', permissions: [] };

/** unrestricted is true of a token that may do all that its user may. No other shares, or gives conversations a title. */
export const unrestricted = computed(() => rights.value?.restricted === false);

/** mayWrite is true of a token that may change what it covers. */
export const mayWrite = computed(() => rights.value?.access === 'write');

/** The user's own namespaces that the token covers whole. */
const covered = computed(() => (rights.value?.permissions ?? []).filter((each) => each.username === user.value && !each.dataset).map((each) => each.namespace.toLowerCase()));

/** mayAddTo says whether datasets may be added to a namespace of the user's own. */
export const mayAddTo = (namespace: string): boolean => unrestricted.value || (mayWrite.value && covered.value.includes(namespace.toLowerCase()));

/** mayAdd says whether datasets may be added to some namespace of the user's own. */
export const mayAdd = computed(() => unrestricted.value || (mayWrite.value && covered.value.length > 0));
