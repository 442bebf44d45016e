// Many devices from a file: checked first, then registered, and their tokens saved as one file.
import { useState } from 'preact/hooks'
import { pathOf } from '../../address/routes.ts'
import { fleet } from '../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { t } from './connect-words.ts'

type Result = Awaited<ReturnType<typeof fleet.bulkRegisterDevices>>

interface BulkAnswer {
  /** What was asked about. */
  readonly lines: string
  readonly result: Result
}

const ERRORS_MAX = 100

export function BulkRegister() {
  const [lines, setLines] = useState('')
  const [checkedLast, setChecked] = useState<BulkAnswer | undefined>(undefined)
  /** Stays when the lines change, because its tokens are shown nowhere else. */
  const [created, setCreated] = useState<BulkAnswer | undefined>(undefined)
  const [key, setKey] = useState(newIdempotencyKey)
  const call = { body: lines, contentType: contentTypeOf(lines) }
  const check = useWrite(async () => {
    const result = await fleet.bulkRegisterDevices({ ...call, query: { dry_run: true } })
    setChecked({ lines, result })
  })
  const create = useWrite(async () => {
    const result = await fleet.bulkRegisterDevices({ ...call, idempotencyKey: key })
    setCreated({ lines, result })
  })
  // The lines may have changed since, also while the answer was under way.
  const isCreated = created?.lines === lines
  const checked = checkedLast?.lines === lines && !isCreated ? checkedLast.result : undefined
  const take = (text: string) => {
    setLines(text)
    setKey(newIdempotencyKey())
  }
  const takeFile = (files: FileList | null | undefined) => {
    const file = files?.[0]
    if (file !== undefined) void file.text().then(take)
  }
  const error = create.error.value ?? check.error.value
  return (
    <section
      class="card bulk"
      aria-label={t('many')}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        takeFile(event.dataTransfer?.files)
      }}
    >
      <p class="hint">{t('bulkHint')}</p>
      <label class="field">
        {t('file')}
        <input
          type="file"
          accept=".csv,.ndjson,.jsonl,.txt"
          onChange={({ currentTarget }) => takeFile(currentTarget.files)}
        />
      </label>
      <label class="field">
        {t('devices')}
        <textarea
          class="mono"
          rows={10}
          value={lines}
          placeholder={t('drop')}
          spellcheck={false}
          onInput={({ currentTarget }) => take(currentTarget.value)}
        />
      </label>
      <p class="row">
        <Button
          kind={checked === undefined ? 'primary' : 'plain'}
          write={check}
          disabledBecause={lines.trim() === '' ? t('drop') : undefined}
          onClick={() => void check.run()}
        >
          {t('check')}
        </Button>
        {checked !== undefined && checked.valid > 0 && (
          <Button kind="primary" write={create} onClick={() => void create.run()}>
            {t('create', { n: checked.valid })}
          </Button>
        )}
      </p>
      <ProblemCard error={error} />
      {checked !== undefined && <Outcome result={checked} />}
      {created !== undefined && <Outcome result={created.result} />}
    </section>
  )
}

function Outcome({ result }: { readonly result: Result }) {
  const wrong = result.results.filter(({ status }) => status === 'failed')
  return (
    <div class="stack">
      <p role="status">
        <strong>
          {result.dry_run
            ? t('checked', { valid: result.valid, total: result.total })
            : t('created', { n: result.created })}
        </strong>
      </p>
      {result.created > 0 && (
        <>
          <p class="hint">{t('tokensHint')}</p>
          <p class="row">
            <Button kind="primary" icon="download" onClick={() => saveTokens(result)}>
              {t('tokens')}
            </Button>
            <a class="button" href={pathOf('devices')}>
              {t('list')}
            </a>
          </p>
        </>
      )}
      {wrong.length > 0 && (
        <>
          <h3>{t('wrong')}</h3>
          <DataTable
            caption={t('wrong')}
            rows={wrong.slice(0, ERRORS_MAX)}
            idOf={({ row }) => String(row)}
            columns={[
              { name: t('row'), cell: ({ row }) => row, isNumber: true },
              { name: t('deviceId'), cell: ({ device_id: id }) => <code>{plainText(id ?? '–')}</code> },
              {
                name: t('error'),
                cell: ({ error }) => {
                  const fields = error?.errors?.map(({ path, message }) => `${path} ${message}`) ?? []
                  return plainText([error?.message ?? '', ...fields].join(' · '))
                },
              },
            ]}
          />
          {wrong.length > ERRORS_MAX && <p class="hint">{t('more', { n: wrong.length - ERRORS_MAX })}</p>}
        </>
      )}
    </div>
  )
}

/** Lines of JSON begin with a brace, and no header of a CSV does. */
const contentTypeOf = (lines: string) =>
  lines.trimStart().startsWith('{') ? ('application/x-ndjson' as const) : ('text/csv' as const)

function saveTokens({ results }: Result): void {
  const rows = results.flatMap(({ device_id: id, access_token: token }) =>
    token === undefined ? [] : [`${id ?? ''},${token}`],
  )
  saveFile('device-tokens.csv', ['device_id,access_token', ...rows, ''].join('\r\n'), 'text/csv')
}
