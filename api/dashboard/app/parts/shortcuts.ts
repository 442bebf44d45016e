// Keys of the page (D8). A view names its own while it is mounted; the sheet of `?` lists what is there now. Keys of one
// character are off while something is typed, and for whoever switched them off (WCAG 2.1.4).
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

export interface Shortcut {
  /** The name is that of `KeyboardEvent.key`; two keys after each other have a blank between them: `g d`.
   *  Empty: only the palette offers it. */
  readonly keys: string
  readonly label: string
  /** False leaves the key to who named it before: of two lists with the same key, the later one is asked first. */
  readonly run: () => unknown
  /** It is asked after all others with the same key, whichever came first. */
  readonly isFallback?: boolean
}

export const areSingleKeysOn = signal(true)
export const shortcuts = signal<readonly Shortcut[]>([])
let first: string | undefined

/** `label` and `keys` tell one list from another: the callbacks of the newest render count. */
export function useShortcuts(list: readonly Shortcut[]): void {
  const key = list.map(({ keys, label }) => `${keys} ${label}`).join('\n')
  const newest = useRef(list)
  newest.current = list
  useEffect(() => {
    const mine = list.map((shortcut, i) => ({ ...shortcut, run: () => newest.current[i]?.run() }))
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
    const isFallback = (shortcut: Shortcut) => Number(shortcut.isFallback === true)
    const newestFirst = shortcuts
      .peek()
      .toReversed()
      .sort((a, b) => isFallback(a) - isFallback(b))
    const found = [
      ...newestFirst.filter(({ keys }) => keys === both),
      ...newestFirst.filter(({ keys }) => keys === pressed),
    ]
    const isBegun = found.length === 0 && newestFirst.some(({ keys }) => keys.startsWith(`${pressed} `))
    first = isBegun ? pressed : undefined
    if (found.some(({ run }) => run() !== false)) event.preventDefault()
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
