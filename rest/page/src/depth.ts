/** The deepest nesting of Markdown that is drawn; what is deeper is shown as it was written. */
export const deepest = 24;
