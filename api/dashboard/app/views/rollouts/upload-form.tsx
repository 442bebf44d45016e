// An upload with its progress. `fetch` tells nothing of what it sends, so this one request goes by XMLHttpRequest.

import { useId, useRef, useState } from 'preact/hooks'
import { RefusalError } from '../../../../../schemas/client/errors.ts'
import { isObject, parseJson } from '../../../../../schemas/json.ts'
import type { Problem } from '../../../../../schemas/problem.ts'
import { API } from '../../address/api.ts'
import { refreshAnswers } from '../../data/answers.ts'
import { accessToken } from '../../data/session.ts'
import { useWrite } from '../../data/writes.ts'
import { boundFields } from '../../parts/bound-fields.ts'
import { Button } from '../../parts/button.tsx'
import { byteCount } from '../../parts/byte-count.ts'
import { Field } from '../../parts/field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { submits } from '../../parts/submits.ts'
import { toast } from '../../parts/toasts.tsx'
import { TypeField } from '../../parts/type-field.tsx'
import { words } from '../../words/words.ts'

const t = words({
  title: ['Upload an image', 'Abbild hochladen'],
  drop: ['Choose it, or drop it here.', 'Wählen Sie sie, oder ziehen Sie sie hierher.'],
  hash: ['SHA-256 (optional)', 'Ihre SHA-256, falls vorhanden'],
  hashText: [
    'The upload is refused if it does not match.',
    'Passt sie nicht, lehnt der Dienst das Abbild ab.',
  ],
  notes: ['Release notes', 'Was neu ist'],
  upload: ['Upload', 'Hochladen'],
  sending: ['{percent} % sent', '{percent} % gesendet'],
  done: ['{version} uploaded.', '{version} ist hochgeladen.'],
  choose: ['Choose a file first.', 'Wählen Sie zuerst eine Datei.'],
  stranger: [
    'Something between this page and the service answered with status {status}. A proxy may take smaller files only.',
    'Etwas zwischen dieser Seite und dem Dienst antwortete mit Status {status}. Vielleicht nimmt ein Proxy nur kleinere Dateien.',
  ],
})

export function UploadForm() {
  const fileId = useId()
  const file = useRef<HTMLInputElement>(null)
  const [draft, setDraft] = useState({ version: '', sha256: '', changelog: '' })
  const [type, setType] = useState('')
  const [sent, setSent] = useState<number | undefined>(undefined)
  const [size, setSize] = useState<number | undefined>(undefined)
  const chosenSize = () => setSize(file.current?.files?.[0]?.size)
  const { version, sha256, changelog } = draft
  const write = useWrite(async () => {
    const chosen = file.current?.files?.[0]
    if (chosen === undefined) throw new Error(t('choose'))
    const form = new FormData()
    form.set('version', version)
    form.set('device_type', type)
    if (sha256 !== '') form.set('sha256', sha256.trim())
    if (changelog !== '') form.set('changelog', changelog)
    // Last, so that the service knows what the bytes are before they come.
    form.set('file', chosen)
    try {
      await upload(form, setSent)
    } finally {
      setSent(undefined)
    }
    toast({ text: t('done', { version }) })
    refreshAnswers('listFirmware')
  })
  const error = write.error.value
  const field = boundFields(draft, (changes) => setDraft({ ...draft, ...changes }), error)
  return (
    <form
      class="card upload"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        const dropped = event.dataTransfer?.files
        if (file.current === null || dropped === undefined || dropped.length === 0) return
        file.current.files = dropped
        chosenSize()
      }}
      onSubmit={submits(() => write.run())}
    >
      <h2>{t('title')}</h2>
      <div class="filters">
        <div class="field">
          <label for={fileId}>{t('file')}</label>
          <input
            id={fileId}
            ref={file}
            type="file"
            required
            aria-describedby={`${fileId}-more`}
            onChange={chosenSize}
          />
          <span id={`${fileId}-more`} class="hint">
            {size === undefined ? t('drop') : byteCount(size)}
          </span>
        </div>
        <Field label={t('version')} required {...field('version')} />
        <TypeField value={type} onValue={setType} />
        <Field label={t('hash')} hint={t('hashText')} spellcheck={false} {...field('sha256')} />
        <Field label={t('notes')} {...field('changelog')} />
        <Button kind="primary" type="submit" icon="upload" write={write}>
          {t('upload')}
        </Button>
      </div>
      {sent !== undefined && <progress value={sent} max={100} aria-label={t('sending', { percent: sent })} />}
      <ProblemCard error={error} />
    </form>
  )
}

/** Rejects with the service's refusal. */
async function upload(form: FormData, onSent: (percent: number) => void): Promise<void> {
  const token = await accessToken()
  await new Promise<void>((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', `${API}/ota/firmware`)
    if (token !== undefined) request.setRequestHeader('authorization', `Bearer ${token}`)
    request.upload.onprogress = ({ loaded, total }) => onSent(Math.floor((100 * loaded) / Math.max(1, total)))
    request.onload = () => {
      if (request.status < 300) resolve()
      else reject(refusalOf(request))
    }
    request.onerror = () => reject(new TypeError('the upload was cut off'))
    request.send(form)
  })
}

function refusalOf({ status, responseText }: XMLHttpRequest): Error {
  const problem = parseJson(responseText)
  // A proxy that has its own limit of size answers with a page.
  if (!isObject(problem) || problem['code'] === undefined)
    return new Error(t('stranger', { status: String(status) }))
  return new RefusalError(problem as unknown as Problem, undefined)
}
