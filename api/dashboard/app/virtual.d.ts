declare module 'virtual:sprite' {
  /** The address of the sprite; an icon is its fragment. */
  const address: string
  export default address
}
