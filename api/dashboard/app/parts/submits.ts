/** What a form does when it is sent, in place of a load of the page. */
export const submits = (run: () => unknown) => (event: Event) => {
  event.preventDefault()
  run()
}
