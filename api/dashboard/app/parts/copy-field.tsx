import { useEffect, useRef, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { copyText } from './clipboard.ts'

const t = words({
  copy: ['Copy', 'Kopieren'],
  copied: ['Copied', 'Kopiert'],
  select: ['Press Ctrl+C', 'Strg+C drücken'],
  hide: ['Hide', 'Verbergen'],
  hidden: ['hidden', 'verborgen'],
})

/** A text to copy. Without a secure context there is no clipboard, so it is selected instead. A secret is copied without
 *  being shown, so that nobody reads it over a shoulder or in a picture of the screen. */
export function CopyField({
  text,
  label,
  isBlock = false,
  isSecret = false,
}: {
  readonly text: string
  readonly label: string
  readonly isBlock?: boolean
  readonly isSecret?: boolean
}) {
  const [said, setSaid] = useState<'copy' | 'copied' | 'select'>('copy')
  const [isShown, setShown] = useState(!isSecret)
  const code = useRef<HTMLElement>(null)
  const copy = async () => {
    const isCopied = await copyText(text)
    if (!isCopied) setShown(true)
    setSaid(isCopied ? 'copied' : 'select')
  }
  useEffect(() => {
    if (said === 'select' && code.current !== null) getSelection()?.selectAllChildren(code.current)
  }, [said])
  return (
    <div class={isBlock ? 'copy copy-block' : 'copy'}>
      <span class="visually-hidden">{label}</span>
      {/* What can be scrolled has to be reached by the keyboard. */}
      <code ref={code} tabIndex={isBlock ? 0 : undefined}>
        {isShown ? text : <Dots />}
      </code>
      {isSecret && (
        <Button icon="eye" onClick={() => setShown(!isShown)}>
          {t(isShown ? 'hide' : 'show')}
        </Button>
      )}
      <Button icon={said === 'copied' ? 'check' : 'copy'} onClick={() => void copy()}>
        {t(said)}
      </Button>
    </div>
  )
}

const Dots = () => (
  <>
    <span aria-hidden="true">{'•'.repeat(16)}</span>
    <span class="visually-hidden">{t('hidden')}</span>
  </>
)
