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
        {withKeys.map(({ keys, says }) => (
          <div key={`${keys} ${says}`}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{says}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
