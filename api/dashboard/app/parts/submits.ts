/** What a form does when it is sent, in place of a load of the page. A dialog's form may stand in another one, which is not
 *  sent by that. */
export const submits = (run: () => unknown) => (event: Event) => {
  event.preventDefault()
  event.stopPropagation()
  run()
}
