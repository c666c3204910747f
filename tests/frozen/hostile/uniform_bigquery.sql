BigQuery cannot have a column called 'it\'s "age"': it holds a control character, one of !"$()*,./;?@[\]^`{}~ or a beginning that is reserved.
