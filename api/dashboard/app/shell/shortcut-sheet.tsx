import { signal } from '@preact/signals'
import { Dialog } from '../parts/dialog.tsx'
import { shortcuts } from '../parts/shortcuts.ts'
import { words } from '../words/words.ts'

const t = words({ title: ['Keys', 'Tasten'] })

export const isSheetOpen = signal(false)

/** The keys that work on this page now. */
export function ShortcutSheet() {
  const withKeys = shortcuts.value.filter(({ keys }) => keys !== '')
  return (
    <Dialog
      title={t('title')}
      onClose={() => {
        isSheetOpen.value = false
      }}
    >
      <dl class="keys">
        {withKeys.map(({ keys, label }) => (
          <div key={`${keys} ${label}`}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
