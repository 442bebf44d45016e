// Files of exactly what is shown, or of the raw points of the same range.
import type { Aggregate, ExportFormat, Interval } from '../../../../../../schemas/vocabulary.ts'
import { API } from '../../../address/api.ts'
import type { Span } from '../../../address/time-range.ts'
import { download } from '../../../data/download.ts'
import { useWrite } from '../../../data/writes.ts'
import { Button } from '../../../parts/button.tsx'
import { Icon } from '../../../parts/icon.tsx'
import { Menu } from '../../../parts/menu.tsx'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { words } from '../../../words/words.ts'

const t = words({
  shown: ['{format}, as shown', '{format}, wie gezeigt'],
  raw: ['{format}, raw points', '{format}, rohe Punkte'],
})

const FORMATS: readonly ExportFormat[] = ['csv', 'ndjson', 'parquet']

export interface DownloadsProps {
  readonly deviceId: string
  readonly metrics: readonly string[]
  readonly span: Span
  readonly interval: Interval
  readonly shown: Aggregate
}

export function Downloads({ deviceId, metrics, span, interval, shown }: DownloadsProps) {
  const write = useWrite(async (format: ExportFormat, isRaw: boolean) => {
    const query = new URLSearchParams({
      metric: metrics.join(','),
      from: new Date(span.fromMs).toISOString(),
      to: new Date(span.toMs).toISOString(),
      interval: isRaw ? 'raw' : interval,
      format,
      ...(isRaw ? {} : { agg: [...new Set([shown, 'min', 'max'])].join(',') }),
    })
    await download(`${API}/telemetry/${encodeURIComponent(deviceId)}/history?${query}`)
  })
  if (metrics.length === 0) return null
  return (
    <>
      <Menu
        name={
          <>
            <Icon name="download" /> {t('download')}
          </>
        }
      >
        {FORMATS.flatMap((format) =>
          [false, true].map((isRaw) => (
            <li key={`${format} ${isRaw}`}>
              <Button kind="quiet" onClick={() => void write.run(format, isRaw)}>
                {t(isRaw ? 'raw' : 'shown', { format: format.toUpperCase() })}
              </Button>
            </li>
          )),
        )}
      </Menu>
      <ProblemCard error={write.error.value} />
    </>
  )
}
