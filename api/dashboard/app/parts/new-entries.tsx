// What came since a feed was read. It is counted and not put in between: nobody loses the line they are reading.
import { useEffect, useState } from 'preact/hooks'
import { useWatch } from '../live/live.ts'
import type { Watch } from '../live/messages.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'

const t = words({
  count: ['{n} new entry | {n} new entries', '{n} neuer Eintrag | {n} neue Einträge'],
  unknown: ['There may be new entries', 'Es kann neue Einträge geben'],
})

interface NewEntriesProps {
  readonly watch: Watch
  /** Another feed counts from zero. */
  readonly feedKey: string
  readonly onReload: () => void
}

export function NewEntries({ watch, feedKey, onReload }: NewEntriesProps) {
  const [count, setCount] = useState(0)
  const [isUnknown, setUnknown] = useState(false)
  const reset = () => {
    setCount(0)
    setUnknown(false)
  }
  useEffect(reset, [feedKey])
  useWatch({ ...watch, snapshot: false }, ({ events, dropped, hasGap }) => {
    setCount((before) => before + events.length + dropped)
    if (hasGap) setUnknown(true)
  })
  return (
    <Button
      icon="refresh-cw"
      kind={count > 0 || isUnknown ? 'primary' : 'plain'}
      onClick={() => {
        reset()
        onReload()
      }}
    >
      {isUnknown ? t('unknown') : count > 0 ? t('count', { n: count }) : t('refresh')}
    </Button>
  )
}
