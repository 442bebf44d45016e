import { useEffect, useState } from 'preact/hooks'
import { fleet } from '../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { Button } from '../../parts/button.tsx'
import { CopyField } from '../../parts/copy-field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { t } from './connect-words.ts'

const SHOWN_MS = 60_000

export interface TokenPanelProps {
  readonly deviceId: string
  /** Undefined until one was issued here, and again once its minute is over. */
  readonly token: string | undefined
  readonly onToken: (token: string | undefined) => void
}

/** A token in the open, for a minute. */
export function TokenPanel({ deviceId, token, onToken }: TokenPanelProps) {
  const [isHidden, setHidden] = useState(false)
  useEffect(() => {
    if (token === undefined) return
    const timer = setTimeout(() => {
      setHidden(true)
      onToken(undefined)
    }, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [token])
  const write = useWrite(async () => {
    const issued = await fleet.issueDeviceToken({
      body: { device_id: deviceId },
      idempotencyKey: newIdempotencyKey(),
    })
    onToken(issued.mqtt_token)
  })
  return (
    <section class="card" aria-labelledby="token">
      <h2 id="token">{t('token')}</h2>
      {isHidden && token === undefined && <p class="muted">{t('hiddenToken')}</p>}
      {token !== undefined && <CopyField isSecret label={t('token')} text={token} />}
      <p class="hint">{t('tokenHint')}</p>
      <ProblemCard error={write.error.value} />
      <p>
        <Button icon="key-round" write={write} onClick={() => void write.run()}>
          {token === undefined && !isHidden ? t('issueToken') : t('another')}
        </Button>
      </p>
    </section>
  )
}
