// `npm start`: starts the service, after any necessary installation and build. Arguments are passed on.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'

await runBuilt('dist/program/service.js')
