/** A body that was read, and changed in a file, tells which revision it was, so that nobody else's change is lost. */
export function ifUnchanged({ etag }: { readonly etag?: unknown }): { readonly ifMatch?: string } {
  return typeof etag === 'string' ? { ifMatch: etag } : {}
}
