// Shows the description of the routes; nothing is sent to a validator elsewhere.
SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#viewer',
  deepLinking: true,
  validatorUrl: null,
  defaultModelsExpandDepth: -1,
  tryItOutEnabled: true,
});
