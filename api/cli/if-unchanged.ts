/** A body that was read and edited in a file has the ETag of its revision, so that changes by others are not lost. */
export function ifUnchanged({ etag }: { readonly etag?: unknown }): { readonly ifMatch?: string } {
  return typeof etag === 'string' ? { ifMatch: etag } : {}
}
