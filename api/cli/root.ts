// Where this program's files are.
/** Beside dist/ when built, beside api/ when not. */
export const ROOT = new URL(import.meta.url.includes('/dist/') ? '../../../' : '../../', import.meta.url)
