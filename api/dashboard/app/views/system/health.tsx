import { may } from '../../data/access.ts'
import { useAnswer } from '../../data/answers.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Facts } from '../../parts/facts.tsx'
import { words } from '../../words/words.ts'
import { Figures } from './figures.tsx'

const t = words({
  ready: ['ready', 'bereit'],
  starting: ['starting', 'startet'],
  draining: ['draining', 'fährt herunter'],
  degraded: ['degraded', 'eingeschränkt'],
  broken: ['does not work', 'läuft nicht'],
  parts: ['Dependencies', 'Wovon er abhängt'],
  service: ['Service', 'Der Dienst'],
  docs: ['API reference', 'Referenz der API'],
  metrics: ['Prometheus metrics', 'Metriken für Prometheus'],
})

export function Health() {
  const answer = useAnswer('readyz', { query: { verbose: '' } }, { everyMs: 5000 })
  return (
    <div class="stack">
      <AnswerArea answer={answer}>
        {({ status, dependencies = [], http_url, mqtt_url }) => (
          <div class="cards">
            <section class="card">
              <h2>{t('service')}</h2>
              <p class={status === 'ready' ? 'status-online' : 'status-error'}>
                <span aria-hidden="true">{status === 'ready' ? '●' : '✕'}</span> {t(status)}
              </p>
              <Facts
                rows={[
                  ['REST, /ws', http_url ?? '–'],
                  ['MQTT', mqtt_url ?? '–'],
                ]}
              />
              <p class="row">
                <a href="/docs">{t('docs')}</a>
                <a href="/metrics">{t('metrics')}</a>
              </p>
            </section>
            <section class="card">
              <h2>{t('parts')}</h2>
              <ul class="lines">
                {dependencies.map(({ name, ok, detail }) => (
                  <li key={name} class="line">
                    <strong>{name}</strong>
                    <span class={ok ? 'status-online' : 'status-error'}>
                      <span aria-hidden="true">{ok ? '●' : '✕'}</span> {ok ? t('works') : t('broken')}
                    </span>
                    <span class="muted">{detail}</span>
                  </li>
                ))}
              </ul>
            </section>
          </div>
        )}
      </AnswerArea>
      {may('getSystem') && <Figures />}
    </div>
  )
}
