//! Checks values against the schemas of `asyncapi.yaml`, stricter than JSON Schema asks: a field that the schema does
//! not name is a fault. Knows which fields and words were shown.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

pub(super) struct Schemas<'d> {
    named: &'d Map<String, Value>,
}

type Seen = BTreeSet<String>;

impl<'d> Schemas<'d> {
    pub(super) fn of(document: &'d Value) -> Self {
        Self { named: document["components"]["schemas"].as_object().unwrap() }
    }

    /// Checks a value against a named schema; adds what it shows.
    pub(super) fn check(&self, name: &str, value: &Value, shown: &mut Seen) -> Result<(), String> {
        let schema = self.named.get(name).ok_or_else(|| format!("no schema {name}"))?;
        self.value(schema, name, value, shown)
    }

    /// Every field and word of every schema.
    pub(super) fn everything(&self) -> Seen {
        let mut all = Seen::new();
        for (name, schema) in self.named {
            collect(schema, name, &mut all);
        }
        all
    }

    fn value(&self, schema: &Value, at: &str, value: &Value, shown: &mut Seen) -> Result<(), String> {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            return self.check(target.rsplit('/').next().unwrap(), value, shown);
        }
        if let Some(sides) = schema.get("oneOf").and_then(Value::as_array) {
            return self.one_of(sides, at, value, shown);
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            if !words.contains(value) {
                return Err(format!("{at}: {value} is none of {words:?}"));
            }
            shown.insert(format!("{at}={}", value.as_str().unwrap()));
            return Ok(());
        }
        match (schema["type"].as_str().unwrap(), value) {
            ("object", Value::Object(fields)) => self.object(schema, at, fields, shown),
            ("array", Value::Array(items)) => {
                let inner = format!("{at}[]");
                let most = schema.get("maxItems").and_then(Value::as_u64).unwrap_or(u64::MAX);
                if items.len() as u64 > most {
                    return Err(format!("{at}: more than {most} items"));
                }
                items.iter().try_for_each(|item| self.value(&schema["items"], &inner, item, shown))
            }
            ("string", Value::String(text)) => {
                let most = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(u64::MAX);
                let fits = text.chars().count() as u64 <= most;
                fits.then_some(()).ok_or_else(|| format!("{at}: longer than {most}"))
            }
            ("integer", Value::Number(number)) => {
                let number = number.as_i64().ok_or_else(|| format!("{at}: {number} is no integer"))?;
                let bound = |key, none| schema.get(key).and_then(Value::as_i64).unwrap_or(none);
                let fits = (bound("minimum", i64::MIN)..=bound("maximum", i64::MAX)).contains(&number);
                fits.then_some(()).ok_or_else(|| format!("{at}: {number} is out of bounds"))
            }
            ("boolean", Value::Bool(_)) | ("null", Value::Null) => Ok(()),
            (wanted, found) => Err(format!("{at}: {found} is no {wanted}")),
        }
    }

    fn one_of(&self, sides: &[Value], at: &str, value: &Value, shown: &mut Seen) -> Result<(), String> {
        let mut fitting = Vec::new();
        let mut reasons = Vec::new();
        for (idx, side) in sides.iter().enumerate() {
            let mut seen = Seen::new();
            match self.value(side, &format!("{at}|{idx}"), value, &mut seen) {
                Ok(()) => fitting.push(seen),
                Err(reason) => reasons.push(reason),
            }
        }
        if fitting.len() != 1 {
            return Err(format!("{at}: {} sides fit; {}", fitting.len(), reasons.join("; ")));
        }
        shown.extend(fitting.into_iter().flatten());
        Ok(())
    }

    fn object(
        &self,
        schema: &Value,
        at: &str,
        fields: &Map<String, Value>,
        shown: &mut Seen,
    ) -> Result<(), String> {
        let known = schema["properties"].as_object().unwrap();
        for required in schema["required"].as_array().unwrap() {
            if !fields.contains_key(required.as_str().unwrap()) {
                return Err(format!("{at}: {required} is missing"));
            }
        }
        for (name, value) in fields {
            let inner = format!("{at}.{name}");
            let schema = known.get(name).ok_or_else(|| format!("{inner} is not told of"))?;
            self.value(schema, &inner, value, shown)?;
            shown.insert(inner);
        }
        Ok(())
    }
}

fn collect(schema: &Value, at: &str, all: &mut Seen) {
    for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let inner_at = format!("{at}.{name}");
        collect(inner, &inner_at, all);
        all.insert(inner_at);
    }
    for (idx, side) in schema.get("oneOf").and_then(Value::as_array).into_iter().flatten().enumerate() {
        collect(side, &format!("{at}|{idx}"), all);
    }
    for word in schema.get("enum").and_then(Value::as_array).into_iter().flatten() {
        all.insert(format!("{at}={}", word.as_str().unwrap()));
    }
    if let Some(items) = schema.get("items") {
        collect(items, &format!("{at}[]"), all);
    }
}
