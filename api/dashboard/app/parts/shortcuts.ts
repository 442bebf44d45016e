// Keys of the page (D8). A view names its own while it is mounted; the sheet of `?` lists what is there now. Keys of one
// character are off while something is typed, and for whoever switched them off (WCAG 2.1.4).
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

export interface Shortcut {
  /** The name is that of `KeyboardEvent.key`; two keys after each other have a blank between them: `g d`.
   *  Empty: only the palette offers it. */
  readonly keys: string
  readonly says: string
  readonly run: () => void
}

export const areSingleKeysOn = signal(true)
export const shortcuts = signal<readonly Shortcut[]>([])
let first: string | undefined

/** `says` and `keys` tell one list from another: the callbacks of the newest render count. */
export function useShortcuts(list: readonly Shortcut[]): void {
  const key = list.map(({ keys, says }) => `${keys} ${says}`).join('\n')
  const newest = useRef(list)
  newest.current = list
  useEffect(() => {
    const mine = list.map(({ keys, says }, i) => ({ keys, says, run: () => newest.current[i]?.run() }))
    shortcuts.value = [...shortcuts.peek(), ...mine]
    return () => {
      shortcuts.value = shortcuts.peek().filter((shortcut) => !mine.includes(shortcut))
    }
  }, [key])
}

export function followKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.altKey || isModifier(event.key)) return
    const hasControl = event.ctrlKey || event.metaKey
    if (!hasControl && (isTyping(event.target) || !areSingleKeysOn.peek())) return
    const pressed = hasControl ? `Ctrl+${event.key.toLowerCase()}` : event.key
    const both = first === undefined ? undefined : `${first} ${pressed}`
    const all = shortcuts.peek()
    const found = all.findLast(({ keys }) => keys === both) ?? all.findLast(({ keys }) => keys === pressed)
    first =
      found === undefined && all.some(({ keys }) => keys.startsWith(`${pressed} `)) ? pressed : undefined
    if (found === undefined) return
    event.preventDefault()
    found.run()
  })
}

const isModifier = (key: string) => ['Shift', 'Control', 'Alt', 'Meta'].includes(key)

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (document.querySelector('dialog[open]') !== null) return true
  // A box that was just ticked takes no text.
  if (target instanceof HTMLInputElement && ['checkbox', 'radio'].includes(target.type)) return false
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)
}
