declare module 'virtual:sprite' {
  /** The address of the sprite; an icon is its fragment. */
  const address: string
  export default address
}

/** Replaced by the build; true while developing. */
interface ImportMeta {
  readonly env: { readonly DEV: boolean }
}
