// What came since a feed was read. It is counted and not put in between: nobody loses the line they are reading.
import { useEffect, useRef, useState } from 'preact/hooks'
import { useWatch } from '../live/live.ts'
import type { Watch } from '../live/messages.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'

const t = words({
  count: ['{n} new entry | {n} new entries', '{n} neuer Eintrag | {n} neue Einträge'],
  unknown: ['There may be new entries', 'Es kann neue Einträge geben'],
})

/** What the events of both channels have in their data. */
interface NewEntry {
  readonly timestamp: string
}

interface NewEntriesProps<Entry extends NewEntry> {
  readonly watch: Watch
  /** Whether the filters of the feed let an entry through, as far as the service does not judge it. */
  readonly fits: (entry: Entry) => boolean
  /** The feed ends here, at an instant or at a time before now. */
  readonly to?: string | undefined
  /** Another feed counts from zero. */
  readonly feedKey: string
  readonly onReload: () => void
}

export function NewEntries<Entry extends NewEntry>(props: NewEntriesProps<Entry>) {
  const { watch, feedKey, onReload } = props
  const newest = useRef(props)
  newest.current = props
  const [count, setCount] = useState(0)
  const [isUnknown, setUnknown] = useState(false)
  const reset = () => {
    setCount(0)
    setUnknown(false)
  }
  useEffect(reset, [feedKey])
  useWatch({ ...watch, snapshot: false }, ({ events, dropped, hasGap }) => {
    const { fits, to } = newest.current
    // The channel gives what the feed lists. A time before now is one that nothing new can have.
    const news = events
      .map(({ data }) => data as Entry)
      .filter((entry) => (to === undefined || Date.parse(entry.timestamp) < Date.parse(to)) && fits(entry))
    setCount((before) => before + news.length + dropped)
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
