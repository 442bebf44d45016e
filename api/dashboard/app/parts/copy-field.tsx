import { useRef, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { copyText } from './clipboard.ts'

const t = words({
  copy: ['Copy', 'Kopieren'],
  copied: ['Copied', 'Kopiert'],
  select: ['Press Ctrl+C', 'Strg+C drücken'],
})

/** A text to copy. Without a secure context there is no clipboard, so it is selected instead. */
export function CopyField({
  text,
  label,
  isBlock = false,
}: {
  readonly text: string
  readonly label: string
  readonly isBlock?: boolean
}) {
  const [said, setSaid] = useState<'copy' | 'copied' | 'select'>('copy')
  const code = useRef<HTMLElement>(null)
  const copy = async () => {
    const isCopied = await copyText(text)
    if (!isCopied && code.current !== null) getSelection()?.selectAllChildren(code.current)
    setSaid(isCopied ? 'copied' : 'select')
  }
  return (
    <div class={isBlock ? 'copy copy-block' : 'copy'}>
      <span class="visually-hidden">{label}</span>
      {/* What can be scrolled has to be reached by the keyboard. */}
      <code ref={code} tabIndex={isBlock ? 0 : undefined}>
        {text}
      </code>
      <Button icon={said === 'copied' ? 'check' : 'copy'} onClick={() => void copy()}>
        {t(said)}
      </Button>
    </div>
  )
}
