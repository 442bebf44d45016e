import { useEffect, useRef } from 'preact/hooks'

/** What makes a `<dialog>` modal as long as it is on the page. Afterwards the focus is where it was before. */
export function useModal(onClose: () => void) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    ref.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  const onCancel = (event: Event) => {
    // The browser would close it and leave it on the page.
    event.preventDefault()
    onClose()
  }
  return { ref, onCancel }
}
