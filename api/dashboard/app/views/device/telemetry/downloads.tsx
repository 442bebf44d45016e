// Files of exactly what is shown, or of the raw points of the same range.
import type { Aggregate, ExportFormat, Interval } from '../../../../../../schemas/vocabulary.ts'
import type { Span } from '../../../address/time-range.ts'
import { accessToken } from '../../../data/session.ts'
import { useWrite } from '../../../data/writes.ts'
import { Icon } from '../../../parts/icon.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { words } from '../../../words/words.ts'

const t = words({
  download: ['Download', 'Herunterladen'],
  shown: ['{format}, as shown', '{format}, wie gezeigt'],
  raw: ['{format}, raw points', '{format}, rohe Punkte'],
  failed: ['The download failed: {detail}', 'Das Herunterladen schlug fehl: {detail}'],
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
    await save(`/api/v1/telemetry/${encodeURIComponent(deviceId)}/history?${query}`, `${deviceId}.${format}`)
  })
  if (metrics.length === 0) return null
  return (
    <details class="menu">
      <summary class="button">
        <Icon name="download" /> {t('download')}
      </summary>
      <ul class="menu-list">
        {FORMATS.flatMap((format) =>
          [false, true].map((isRaw) => (
            <li key={`${format} ${isRaw}`}>
              <button
                type="button"
                class="button button-quiet"
                onClick={({ currentTarget }) => {
                  currentTarget.closest('details')?.removeAttribute('open')
                  void write.run(format, isRaw)
                }}
              >
                {t(isRaw ? 'raw' : 'shown', { format: format.toUpperCase() })}
              </button>
            </li>
          )),
        )}
      </ul>
    </details>
  )
}

/** The token goes in a header, so the file comes through the page. */
async function save(path: string, name: string): Promise<void> {
  const response = await fetch(path, { headers: { authorization: `Bearer ${await accessToken()}` } })
  if (!response.ok) {
    // A refusal is a problem document.
    const { detail } = (await response.json()) as { readonly detail?: string }
    toast({ text: t('failed', { detail: detail ?? String(response.status) }), isFailure: true })
    return
  }
  const address = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}
