import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { CopyField } from './copy-field.tsx'
import { Dialog } from './dialog.tsx'

const t = words({})

export interface SecretDialogProps {
  readonly title: string
  /** What the secret is for, and that it is shown this once. */
  readonly text: string
  readonly label: string
  readonly secret: string
  readonly onClose: () => void
}

/** A secret that the service has just made, to be copied now. */
export function SecretDialog({ title, text, label, secret, onClose }: SecretDialogProps) {
  return (
    <Dialog title={title} onClose={onClose} actions={<Button onClick={onClose}>{t('done')}</Button>}>
      <p>{text}</p>
      <CopyField isSecret label={label} text={secret} />
    </Dialog>
  )
}
