/** The root of the repository or installation. A built file lies one folder deeper: `dist/api/` or `dist/program/`. */
export const ROOT = new URL(import.meta.url.includes('/dist/') ? '../../' : '../', import.meta.url)
