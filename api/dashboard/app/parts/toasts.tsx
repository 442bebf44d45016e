// Short words about what was done, with Undo where it can be undone. They stay until they are read or pushed out.
import { signal } from '@preact/signals'
import { errorText } from '../../../../schemas/error-text.ts'
import { LIMITS } from '../limits.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'

const t = words({
  undo: ['Undo', 'Rückgängig'],
  notUndone: ['Could not undo: {reason}', 'Das ließ sich nicht rückgängig machen: {reason}'],
  close: ['Close', 'Schließen'],
})

export interface Toast {
  readonly text: string
  /** Rejects with the reason if it cannot be undone, which is said. */
  readonly undo?: () => Promise<unknown>
  readonly isFailure?: boolean
}

const toasts = signal<readonly (Toast & { readonly id: number })[]>([])
let ids = 0
const STAYS_MS = 8000

export function toast(shown: Toast): void {
  ids += 1
  const id = ids
  toasts.value = [...toasts.value, { ...shown, id }].slice(-LIMITS.toastsMax)
  if (shown.isFailure !== true) setTimeout(() => close(id), STAYS_MS)
}

const close = (id: number) => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}

async function undone(undo: () => Promise<unknown>): Promise<void> {
  try {
    await undo()
  } catch (error) {
    toast({ text: t('notUndone', { reason: errorText(error) }), isFailure: true })
  }
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, undo, isFailure }) => (
        <div
          key={id}
          class={isFailure === true ? 'toast toast-failure' : 'toast'}
          // What a person did and what failed is said at once.
          role={isFailure === true ? 'alert' : undefined}
        >
          <span>{text}</span>
          {undo !== undefined && (
            <Button
              kind="quiet"
              onClick={() => {
                void undone(undo)
                close(id)
              }}
            >
              {t('undo')}
            </Button>
          )}
          <Button kind="quiet" icon="x" label={t('close')} onClick={() => close(id)} />
        </div>
      ))}
    </div>
  )
}
