// The button of saved views. What it opens is loaded when it is first used.
import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { toast } from '../parts/toasts.tsx'
import { words } from '../words/words.ts'

const t = words({
  failed: [
    'The saved views could not be opened: {reason}',
    'Die gespeicherten Ansichten ließen sich nicht öffnen: {reason}',
  ],
})

type Views = ComponentType<{ readonly onClose: () => void }>

export function ViewsButton() {
  const [Views, setViews] = useState<Views | undefined>(undefined)
  const open = () =>
    import('../views/saved/views-dialog.tsx').then(
      (module) => setViews(() => module.default),
      (error: Error) => toast({ text: t('failed', { reason: error.message }), isFailure: true }),
    )
  return (
    <>
      <Button icon="layers" label={t('savedViews')} onClick={() => void open()} />
      {Views !== undefined && <Views onClose={() => setViews(undefined)} />}
    </>
  )
}
